import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const TICKS_PER_SECOND = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))
const children: ChildProcess[] = []

/** How to tell that a program is ready. */
export type Ready = { readonly prints: RegExp } | { readonly listens: number; readonly host?: string }

/** Starts a program in its own process group, so that its children can be stopped with it. Returns the group id. */
export async function startProgram(
  command: string,
  args: readonly string[],
  ready: Ready,
  env: NodeJS.ProcessEnv = process.env,
): Promise<number> {
  const child = spawn(command, args, { env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  children.push(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      if (output.length < 100_000) output += chunk
    })
  let failure: string | undefined
  child.on('error', (error) => {
    failure = error.message
  })
  child.on('exit', (code) => {
    failure ??= `exited with ${code}`
  })
  const deadline = performance.now() + 20_000
  const isReady = () =>
    'prints' in ready ? ready.prints.test(output) : acceptsConnections(ready.listens, ready.host)
  while (!(await isReady())) {
    if (failure !== undefined || performance.now() > deadline)
      throw new Error(`${command}: ${failure ?? 'not ready in time'}\n${output.slice(-2000)}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return child.pid!
}

/** Stops all started programs. */
export async function stopAll(): Promise<void> {
  for (const child of children.splice(0).reverse()) {
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) continue
    const exited = once(child, 'exit')
    signalGroup(child.pid, 'SIGTERM')
    const killTimer = setTimeout(() => signalGroup(child.pid!, 'SIGKILL'), 3000)
    await exited
    clearTimeout(killTimer)
  }
}

/** Runs `work` with a directory for its files, and stops every program it has started. */
export async function withPrograms(work: (dir: string) => Promise<void>): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'adit-bench-'))
  chmodSync(dir, 0o755) // nginx workers started by root run as another user.
  const interrupt = () => void stopAll().finally(() => process.exit(130))
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt)
  try {
    await work(dir)
  } finally {
    await stopAll()
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt)
    rmSync(dir, { recursive: true, force: true })
  }
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal)
  } catch {
    // Already exited.
  }
}

/** CPU seconds used so far by these programs and their descendants. */
export function cpuSeconds(roots: readonly number[]): number {
  let ticks = 0
  for (const fields of readStats(roots)) ticks += Number(fields[UTIME]) + Number(fields[STIME])
  return ticks / TICKS_PER_SECOND
}

/** Resident memory of a program and its descendants, in KiB. */
export function residentKib(root: number): number {
  let pages = 0
  for (const fields of readStats([root])) pages += Number(fields[RSS])
  return pages * 4
}

/** Field indexes in /proc/PID/stat, after the name. */
const [PPID, UTIME, STIME, RSS] = [1, 11, 12, 21] as const

/** The fields of /proc/PID/stat of these processes and their descendants. */
function readStats(roots: readonly number[]): string[][] {
  const statsByPid = new Map<number, string[]>()
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, 'latin1')
      statsByPid.set(Number(entry), stat.slice(stat.lastIndexOf(')') + 2).split(' '))
    } catch {
      // The process has exited meanwhile.
    }
  }
  const isDescendant = (pid: number): boolean =>
    roots.includes(pid) || (statsByPid.has(pid) && isDescendant(Number(statsByPid.get(pid)![PPID])))
  return [...statsByPid].filter(([pid]) => isDescendant(pid)).map(([, fields]) => fields)
}

/** Whether something accepts connections at a port of this machine. */
async function acceptsConnections(port: number, host = '127.0.0.1'): Promise<boolean> {
  const socket = connect(port, host)
  const connected = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return connected
}

/** A port that was free a moment ago. */
export async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Whether a program is on the PATH. */
export function hasProgram(program: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${program}`], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
