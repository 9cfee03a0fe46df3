/** TensorBoard files: TFRecord framing with masked CRC32C around Event messages (scalars and text). */

import type { Metrics } from './events.js';

const TABLE = new Uint32Array(256);
for (let i = 0; i < 256; i++) {
  let value = i;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0x82f63b78 : value >>> 1;
  TABLE[i] = value;
}

/** CRC-32C (Castagnoli); `123456789` has 0xE3069283. */
export function crc32c(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = TABLE[(crc ^ byte) & 0xff]! ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

/** TFRecord's mask: rotated right by 15 bits, plus a constant. */
function masked(crc: number): number {
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}

/** Length, its checksum, the data, its checksum; all little-endian. */
function record(data: Buffer): Buffer {
  const head = Buffer.alloc(12);
  head.writeBigUInt64LE(BigInt(data.length));
  head.writeUInt32LE(masked(crc32c(head.subarray(0, 8))), 8);
  const tail = Buffer.alloc(4);
  tail.writeUInt32LE(masked(crc32c(data)));
  return Buffer.concat([head, data, tail]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 128) {
    bytes.push((rest % 128) | 128);
    rest = Math.floor(rest / 128);
  }
  bytes.push(rest);
  return Buffer.from(bytes);
}

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

function key(field: number, wire: number): Buffer {
  return varint(field * 8 + wire);
}

function bytesField(field: number, value: Buffer): Buffer {
  return Buffer.concat([key(field, BYTES), varint(value.length), value]);
}

function textField(field: number, value: string): Buffer {
  return bytesField(field, Buffer.from(value));
}

function float32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return bytes;
}

function float64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return bytes;
}

/** Event {1: wall_time, 2: step, …}. */
function event(seconds: number, step: number, rest: Buffer): Buffer {
  const time = Buffer.concat([key(1, FIXED64), float64(seconds)]);
  return record(Buffer.concat([time, key(2, VARINT), varint(step), rest]));
}

/** The record a file begins with. `seconds` since 1970. */
export function versionRecord(seconds: number): Buffer {
  return event(seconds, 0, textField(3, 'brain.Event:2'));
}

/** One record with every metric of a step; Summary.Value {1: tag, 2: simple_value}. */
export function scalarRecord(seconds: number, step: number, metrics: Metrics): Buffer {
  const values = Object.entries(metrics).map(([tag, value]) =>
    bytesField(1, Buffer.concat([textField(1, tag), key(2, FIXED32), float32(value)])),
  );
  return event(seconds, step, bytesField(5, Buffer.concat(values)));
}

/** One record with a text for TensorBoard's text page: a string tensor of shape [1] under the plugin "text". */
export function textRecord(seconds: number, step: number, tag: string, text: string): Buffer {
  const dimension = bytesField(2, Buffer.concat([key(1, VARINT), varint(1)]));
  const stringType = Buffer.concat([key(1, VARINT), varint(7)]);
  const tensor = Buffer.concat([stringType, bytesField(2, dimension), textField(8, text)]);
  const metadata = bytesField(1, textField(1, 'text'));
  const value = Buffer.concat([textField(1, tag), bytesField(8, tensor), bytesField(9, metadata)]);
  return event(seconds, step, bytesField(5, bytesField(1, value)));
}
