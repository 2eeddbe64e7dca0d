/** Protects against decompression bombs. */
const MAX_DECODED_BYTES = 8 * 1024 * 1024

const FORMATS: ReadonlyMap<string, readonly string[]> = new Map([
  ['gzip', ['gzip']],
  ['x-gzip', ['gzip']],
  // In practice `deflate` means both: with the zlib wrapper (RFC 9110 section 8.4.1.2), and without.
  ['deflate', ['deflate', 'deflate-raw']],
  ['br', ['brotli']],
  ['zstd', ['zstd']],
])

/** A complete body decoded by the agent. */
export interface AgentDecodedBody {
  body: Uint8Array
  decoded: readonly string[]
  problem?: string
}

/** Decodes content encodings in the browser, or on the agent if the browser lacks one; the notes describe the result. */
export async function decode(
  body: Uint8Array,
  encodings: string,
  decodeOnAgent: () => Promise<AgentDecodedBody>,
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
    const decompressed = formats && (await decompressAny(current, formats))
    if (decompressed === undefined) {
      const remote = formats && (await decodeOnAgent().catch(() => undefined))
      if (remote) return toDecodedBody(remote, body.length)
      notes.push(`Encoded as ${name}, which cannot be decoded; the raw bytes are shown.`)
      break
    }
    if (decompressed.problem === 'limit')
      notes.push(`Only the first ${MAX_DECODED_BYTES / 1024 / 1024} MiB are decoded.`)
    if (decompressed.problem === 'damaged')
      notes.push(`The ${name} data is damaged or cut short; only the beginning was decoded.`)
    if (decompressed.problem === undefined) notes.push(`Decoded from ${name} (${current.length} bytes).`)
    current = decompressed.body
  }
  return { body: current, notes }
}

function toDecodedBody({ body, decoded, problem }: AgentDecodedBody, length: number) {
  const notes = [`Decoded from ${[...decoded].reverse().join(', ')} (${length} bytes).`]
  if (problem !== undefined) notes.push(`${problem[0]!.toUpperCase()}${problem.slice(1)}.`)
  return { body, notes }
}

interface Decompressed {
  body: Uint8Array
  problem?: 'limit' | 'damaged'
}

async function decompressAny(
  body: Uint8Array,
  formats: readonly string[],
): Promise<Decompressed | undefined> {
  let best: Decompressed | undefined
  for (const format of formats) {
    const decompressed = await decompress(body, format)
    if (decompressed && decompressed.problem !== 'damaged') return decompressed
    if (decompressed && decompressed.body.length >= (best?.body.length ?? 0)) best = decompressed
  }
  return best
}

async function decompress(body: Uint8Array, format: string): Promise<Decompressed | undefined> {
  let decompressor: DecompressionStream
  try {
    decompressor = new DecompressionStream(format as CompressionFormat)
  } catch {
    return undefined
  }
  const chunks: Uint8Array[] = []
  let length = 0
  let problem: Decompressed['problem']
  const reader = new Blob([new Uint8Array(body)]).stream().pipeThrough(decompressor).getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      chunks.push(value)
      length += value.length
      if (length > MAX_DECODED_BYTES) {
        problem = 'limit'
        await reader.cancel().catch(() => {})
        break
      }
    }
  } catch {
    problem = 'damaged'
  }
  const result = new Uint8Array(length)
  let offset = 0
  for (const chunk of chunks) {
    result.set(chunk, offset)
    offset += chunk.length
  }
  return problem === undefined ? { body: result } : { body: result, problem }
}
