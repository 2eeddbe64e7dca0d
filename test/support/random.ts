/** A reproducible random source: the same seed gives the same sequence. */
export interface SeededRandom {
  readonly seed: number
  /** An integer from 0 up to, but not including, `limit`. */
  below(limit: number): number
  pick<T>(items: readonly T[]): T
  bytes(length: number): Buffer
}

/** Creates a generator (mulberry32). The seed comes from SEED when set; tests print it. */
export function createRandom(seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)): SeededRandom {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return (t ^ (t >>> 14)) >>> 0
  }
  const below = (limit: number) => Math.floor((next() / 2 ** 32) * limit)
  return {
    seed,
    below,
    pick: (items) => items[below(items.length)]!,
    bytes: (length) => Buffer.from(Array.from({ length }, () => below(256))),
  }
}

/** The rounds of a fuzz test: at least `count`, and as many as fit into FUZZ_SECONDS. */
export function* rounds(count: number): Generator<number, void, undefined> {
  const end = performance.now() + Number(process.env.FUZZ_SECONDS ?? 0) * 1000
  for (let round = 0; round < count || performance.now() < end; round++) yield round
}

/** A damaged copy: one to four mutations that flip bits, or remove, repeat, overwrite or insert bytes. */
export function mutate(random: SeededRandom, input: Uint8Array): Buffer {
  let bytes = Buffer.from(input)
  for (let round = 1 + random.below(4); round > 0; round--) {
    const offset = random.below(bytes.length + 1)
    const length = random.below(Math.min(64, bytes.length - offset) + 1)
    const [head, slice, tail] = [
      bytes.subarray(0, offset),
      bytes.subarray(offset, offset + length),
      bytes.subarray(offset + length),
    ]
    switch (random.below(6)) {
      case 0:
        if (offset < bytes.length) bytes[offset]! ^= 1 << random.below(8)
        break
      case 1:
        bytes = Buffer.concat([head, tail])
        break
      case 2:
        bytes = Buffer.concat([head, slice, slice, tail])
        break
      case 3:
        bytes = Buffer.concat([head, random.bytes(length), tail])
        break
      case 4:
        bytes = Buffer.concat([head, random.bytes(1 + random.below(8)), slice, tail])
        break
      default:
        bytes = Buffer.from(head)
    }
  }
  return bytes
}
