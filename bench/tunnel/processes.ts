import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'

const TICKS_PER_SECOND = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))
const started: ChildProcess[] = []

/** Starts a program in a process group of its own, so that all it starts can be ended with it. */
export async function start(
  command: string,
  args: readonly string[],
  ready: { says: RegExp } | { listens: number },
  env: NodeJS.ProcessEnv = process.env,
): Promise<number> {
  const child = spawn(command, args, { env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  started.push(child)
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (piece: string) => {
      if (said.length < 100_000) said += piece
    })
  let failure: string | undefined
  child.on('error', (error) => {
    failure = error.message
  })
  child.on('exit', (code) => {
    failure ??= `ended with ${code}`
  })
  const giveUp = performance.now() + 20_000
  const isReady = () => ('says' in ready ? ready.says.test(said) : accepts(ready.listens))
  while (!(await isReady())) {
    if (failure !== undefined || performance.now() > giveUp)
      throw new Error(`${command}: ${failure ?? 'not ready in time'}\n${said.slice(-2000)}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return child.pid!
}

/** Ends everything that was started. */
export async function stopAll(): Promise<void> {
  for (const child of started.splice(0).reverse()) {
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) continue
    const exited = once(child, 'exit')
    signalGroup(child.pid, 'SIGTERM')
    const late = setTimeout(() => signalGroup(child.pid!, 'SIGKILL'), 3000)
    await exited
    clearTimeout(late)
  }
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal)
  } catch {
    // Gone by itself.
  }
}

/** Processor seconds used so far by these programs and what they have started. */
export function cpuSeconds(roots: readonly number[]): number {
  let ticks = 0
  for (const fields of statsOf(roots)) ticks += Number(fields[UTIME]) + Number(fields[STIME])
  return ticks / TICKS_PER_SECOND
}

/** Resident memory of a program and what it has started, in KiB. */
export function residentKib(root: number): number {
  let pages = 0
  for (const fields of statsOf([root])) pages += Number(fields[RSS])
  return pages * 4
}

/** Places in /proc/PID/stat, counted from behind the name. */
const [PPID, UTIME, STIME, RSS] = [1, 11, 12, 21] as const

/** The fields of /proc/PID/stat of these processes and all below them. */
function statsOf(roots: readonly number[]): string[][] {
  const all = new Map<number, string[]>()
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, 'latin1')
      all.set(Number(entry), stat.slice(stat.lastIndexOf(')') + 2).split(' '))
    } catch {
      // Ended meanwhile.
    }
  }
  const isBelow = (pid: number): boolean =>
    roots.includes(pid) || (all.has(pid) && isBelow(Number(all.get(pid)![PPID])))
  return [...all].filter(([pid]) => isBelow(pid)).map(([, fields]) => fields)
}

/** Whether something accepts connections at a port of this machine. */
export async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const connected = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return connected
}

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Whether a program is on the PATH. */
export function has(program: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${program}`], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
