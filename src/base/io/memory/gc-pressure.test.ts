import { constants, PerformanceObserver } from 'node:perf_hooks'
import { test } from 'node:test'
import { assertPrivateMembers } from '../../../../test/support/private-members.ts'
import { noteExternalGarbage } from './gc-pressure.ts'

const MIB = 1024 * 1024
const assertMember = assertPrivateMembers('node', 'src/base/io/memory/gc-pressure.ts')

interface Load {
  blockBytes: number
  chunkBytes: number
}

// Small chunks: what TLS decrypts begins a new block after every read of a plain socket.
for (const [name, load] of Object.entries<Load>({
  'buffers that die young': { blockBytes: MIB, chunkBytes: MIB },
  'blocks that hold one small message each': { blockBytes: MIB / 16, chunkBytes: 200 },
})) {
  test(`${name} are freed without major collections`, async () => {
    const kinds: (number | undefined)[] = []
    const observer = new PerformanceObserver((list) => {
      for (const entry of list.getEntries())
        kinds.push((entry as { detail?: { kind?: number } }).detail?.kind)
    })
    observer.observe({ entryTypes: ['gc'] })

    await discardBlocks(2000 * MIB, load)
    const remaining = process.memoryUsage().arrayBuffers
    await new Promise((resolve) => setImmediate(resolve))
    observer.disconnect()

    assertMember(`gc of V8, which left ${remaining} bytes,`, remaining < 64 * MIB)
    const major = kinds.filter((kind) => kind === constants.NODE_PERFORMANCE_GC_MAJOR)
    // Not zero: V8 runs one or two major collections in a new process before it knows the heap size.
    assertMember(`gc of V8, with ${major.length} major collections,`, major.length <= 3)
  })
}

async function discardBlocks(bytes: number, { blockBytes, chunkBytes }: Load): Promise<void> {
  for (let discarded = 0; discarded < bytes; discarded += blockBytes) {
    const block = Buffer.allocUnsafeSlow(blockBytes)
    noteExternalGarbage(block.subarray(0, 100))
    noteExternalGarbage(block.subarray(100, chunkBytes))
    if (discarded % (10 * MIB) === 0) await new Promise((resolve) => setImmediate(resolve))
  }
}
