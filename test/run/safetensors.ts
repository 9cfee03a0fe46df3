/** A safetensors file with one tensor of bytes, for checkpoint tests. */

/** The file's bytes; `claimed` is the tensor's length in the header. */
export function safetensors(data: Uint8Array, claimed = data.length): Buffer {
  const header = JSON.stringify({ w: { dtype: 'U8', shape: [claimed], data_offsets: [0, claimed] } });
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  return Buffer.concat([length, Buffer.from(header), data]);
}
