/** TensorBoard records: checksums, framing and the bytes of known messages. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32c, scalarRecord, textRecord, versionRecord } from '../../src/run/tensorboard.js';

/** The data of one record, after checking both checksums. */
function open(record: Buffer): Buffer {
  const length = Number(record.readBigUInt64LE());
  assert.equal(record.length, length + 16);
  const unmask = (masked: number) => {
    const value = (masked - 0xa282ead8) >>> 0;
    return ((value << 15) | (value >>> 17)) >>> 0;
  };
  assert.equal(unmask(record.readUInt32LE(8)), crc32c(record.subarray(0, 8)));
  const data = record.subarray(12, 12 + length);
  assert.equal(unmask(record.readUInt32LE(12 + length)), crc32c(data));
  return data;
}

test('CRC-32C of 123456789 is 0xE3069283', () => {
  assert.equal(crc32c(Buffer.from('123456789')), 0xe3069283);
  assert.equal(crc32c(Buffer.alloc(0)), 0);
});

test('a file begins with the version record', () => {
  const data = open(versionRecord(1.5));
  assert.equal(
    data.toString('hex'),
    `09${'000000000000f83f'}1000${'1a0d'}${Buffer.from('brain.Event:2').toString('hex')}`,
  );
});

test('scalars are Summary values with tag and float', () => {
  const data = open(scalarRecord(1.5, 300, { a: 1, bc: -0.5 }));
  const first = '0a08' + '0a0161' + '150000803f';
  const second = '0a09' + '0a026263' + '15000000bf';
  assert.equal(data.toString('hex'), `09${'000000000000f83f'}10ac02` + '2a15' + first + second);
});

test('a text is a string tensor of shape [1] under the plugin text', () => {
  const data = open(textRecord(0, 1, 't', 'hi'));
  const tensor = '0807' + '1204' + '12020801' + '4202' + '6869';
  const metadata = '0a06' + '0a04' + '74657874';
  const value = '0a0174' + `42${(tensor.length / 2).toString(16).padStart(2, '0')}` + tensor;
  const whole = value + `4a${(metadata.length / 2).toString(16).padStart(2, '0')}` + metadata;
  const size = (hex: string) => (hex.length / 2).toString(16).padStart(2, '0');
  const item = `0a${size(whole)}${whole}`;
  assert.equal(data.toString('hex'), `09${'0'.repeat(16)}1001` + `2a${size(item)}${item}`);
});
