import { createReadStream, createWriteStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import { fileURLToPath } from 'node:url'

/** Where releases are published: a directory, or a URL with the same layout. */
export interface Channel {
  /** Reads a small file. */
  read(name: string): Promise<Buffer>
  /** Downloads a file of exactly `size` bytes to `target`. */
  fetch(name: string, target: string, size: number): Promise<void>
}

const MAX_READ_BYTES = 64 * 1024
const READ_TIMEOUT_MS = 4000

/** Opens `<location>/<channel>`; nothing is fetched yet. */
export function openChannel(location: string, channel: string): Channel {
  if (/^https?:\/\//.test(location)) return openHttpChannel(`${location.replace(/\/+$/, '')}/${channel}`)
  return openDirectoryChannel(
    join(location.startsWith('file:') ? fileURLToPath(location) : location, channel),
  )
}

function openDirectoryChannel(directory: string): Channel {
  return {
    read: (name) => readFile(join(directory, name)),
    fetch: (name, target, size) =>
      pipeline(createReadStream(join(directory, name)), requireSize(size), createWriteStream(target)),
  }
}

function openHttpChannel(base: string): Channel {
  return {
    async read(name) {
      const response = await get(`${base}/${name}`, AbortSignal.timeout(READ_TIMEOUT_MS))
      const bytes = Buffer.from(await response.arrayBuffer())
      if (bytes.length > MAX_READ_BYTES) throw new Error(`${base}/${name} is too large`)
      return bytes
    },
    async fetch(name, target, size) {
      const response = await get(`${base}/${name}`, undefined)
      if (!response.body) throw new Error(`${base}/${name} is empty`)
      await pipeline(
        Readable.fromWeb(response.body as ReadableStream<Uint8Array>),
        requireSize(size),
        createWriteStream(target),
      )
    },
  }
}

async function get(url: string, signal: AbortSignal | undefined): Promise<Response> {
  const response = await fetch(url, { redirect: 'follow', ...(signal ? { signal } : {}) })
  if (!response.ok) throw new Error(`${url} answered ${response.status}`)
  return response
}

/** Rejects a file whose size differs from the manifest, before it fills the disk. */
function requireSize(size: number): Transform {
  return countBytes(size, 'the archive is larger than its manifest says', (received) =>
    received === size ? null : new Error('the archive is smaller than its manifest says'),
  )
}

/** Passes on at most `maxBytes`; rejects more. */
export function limitSize(maxBytes: number): Transform {
  return countBytes(maxBytes, `the archive holds more than ${maxBytes} bytes`, () => null)
}

function countBytes(
  maxBytes: number,
  tooLarge: string,
  atEnd: (received: number) => Error | null,
): Transform {
  let received = 0
  return new Transform({
    transform(chunk: Buffer, _encoding, callback) {
      received += chunk.length
      callback(received > maxBytes ? new Error(tooLarge) : null, chunk)
    },
    flush(callback) {
      callback(atEnd(received))
    },
  })
}
