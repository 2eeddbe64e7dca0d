import assert from 'node:assert/strict'

/** One HTTP/2 frame (RFC 9113 section 4.1), for clients and upstreams that break the rules of Node's. */
export function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** A HEADERS frame. Encodes literal fields without indexing or Huffman coding, so that any byte can be sent. */
export function headersFrame(fields: readonly (readonly [string, string])[], stream = 1, flags = 5): Buffer {
  const text = (value: string) => {
    const bytes = Buffer.from(value, 'latin1')
    assert.ok(bytes.length < 127)
    return Buffer.concat([Buffer.from([bytes.length]), bytes])
  }
  const block = Buffer.concat(fields.flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]))
  return frame(1, flags, stream, block)
}
