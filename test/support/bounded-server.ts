import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import type { TestContext } from 'node:test'
import { createClient } from './api.ts'
import { residentMiB } from './process-memory.ts'
import { startServerProcess } from './server-process.ts'
import { createTempDir } from './temp-dir.ts'

/** Many times what an attack takes, and a small part of what it took before it had a budget. */
const MAX_CPU_MS = 3000
const MAX_GROWTH_MIB = 200

/** The processor time of a process so far: Linux counts it in hundredths of a second. */
async function cpuMs(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
  return (Number(user) + Number(system)) * 10
}

/** Starts a server in a process of its own, and bounds the processor time and memory that attacks on it may take. */
export async function startBoundedServer(t: TestContext) {
  const server = await startServerProcess(t, createTempDir())
  const bounded = async <T>(name: string, attack: () => Promise<T>, maxCpuMs = MAX_CPU_MS): Promise<T> => {
    const [cpu, memory] = [await cpuMs(server.pid), await residentMiB(server.pid)]
    const result = await attack()
    const taken = (await cpuMs(server.pid)) - cpu
    const growth = (await residentMiB(server.pid)) - memory
    assert.ok(taken < maxCpuMs, `${name} takes ${taken} ms`)
    assert.ok(growth < MAX_GROWTH_MIB, `${name} takes ${growth} MiB`)
    return result
  }
  return { server, bounded, call: createClient(server.url, server.apiKey) }
}
