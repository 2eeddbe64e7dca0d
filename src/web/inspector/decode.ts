/** More is not unpacked: a few kilobytes can be made to unpack into gigabytes. */
const MOST_DECODED = 8 * 1024 * 1024

const FORMATS: ReadonlyMap<string, readonly string[]> = new Map([
  ['gzip', ['gzip']],
  ['x-gzip', ['gzip']],
  // Both are sent under this name: with zlib's wrapping, as the standard says, and without.
  ['deflate', ['deflate', 'deflate-raw']],
  ['br', ['brotli']],
  ['zstd', ['zstd']],
])

/** What the agent made of a whole body. */
export interface RemotelyDecoded {
  body: Uint8Array
  decoded: readonly string[]
  problem?: string
}

/** Undoes content encodings as far as this browser can, asks for help where it cannot, and says what was done. */
export async function decode(
  body: Uint8Array,
  encodings: string,
  askAgent: () => Promise<RemotelyDecoded>,
): Promise<{ body: Uint8Array; notes: string[] }> {
  const notes: string[] = []
  const names = encodings
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity')
  let current = body
  for (const name of names.reverse()) {
    if (current.length === 0) break
    const formats = FORMATS.get(name)
    const unpacked = formats && (await unpackAny(current, formats))
    if (unpacked === undefined) {
      const remote = formats && (await askAgent().catch(() => undefined))
      if (remote) return remotely(remote, body.length)
      notes.push(`Encoded as ${name}, which cannot be decoded here; the bytes are shown as they came.`)
      break
    }
    if (unpacked.cut === 'limit') notes.push(`Only the first ${MOST_DECODED / 1024 / 1024} MiB are decoded.`)
    if (unpacked.cut === 'damaged')
      notes.push(`The ${name} data is damaged or cut short; this is what could be decoded.`)
    if (unpacked.cut === undefined) notes.push(`Decoded from ${name} (${current.length} bytes).`)
    current = unpacked.body
  }
  return { body: current, notes }
}

function remotely({ body, decoded, problem }: RemotelyDecoded, length: number) {
  const notes = [`Decoded from ${[...decoded].reverse().join(', ')} (${length} bytes).`]
  if (problem !== undefined) notes.push(`${problem[0]!.toUpperCase()}${problem.slice(1)}.`)
  return { body, notes }
}

interface Unpacked {
  body: Uint8Array
  cut?: 'limit' | 'damaged'
}

async function unpackAny(body: Uint8Array, formats: readonly string[]): Promise<Unpacked | undefined> {
  let best: Unpacked | undefined
  for (const format of formats) {
    const unpacked = await unpack(body, format)
    if (unpacked && unpacked.cut !== 'damaged') return unpacked
    if (unpacked && unpacked.body.length >= (best?.body.length ?? 0)) best = unpacked
  }
  return best
}

async function unpack(body: Uint8Array, format: string): Promise<Unpacked | undefined> {
  let unpacker: DecompressionStream
  try {
    unpacker = new DecompressionStream(format as CompressionFormat)
  } catch {
    return undefined
  }
  const pieces: Uint8Array[] = []
  let length = 0
  let cut: Unpacked['cut']
  const reader = new Blob([new Uint8Array(body)]).stream().pipeThrough(unpacker).getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      pieces.push(value)
      length += value.length
      if (length > MOST_DECODED) {
        cut = 'limit'
        await reader.cancel().catch(() => {})
        break
      }
    }
  } catch {
    cut = 'damaged'
  }
  const whole = new Uint8Array(length)
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
  }
  return cut === undefined ? { body: whole } : { body: whole, cut }
}
