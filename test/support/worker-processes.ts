import { readFileSync } from 'node:fs'

/** The process id of a worker of a control process; undefined while it does not run. */
export function findWorker(controlPid: number, number: number): number | undefined {
  return childrenOf(controlPid).find((child) => processTitle(child) === `adit worker ${number}`)
}

/** Stops or continues a server with its workers. */
export function signalServer(controlPid: number, signal: 'SIGSTOP' | 'SIGCONT'): void {
  for (const pid of [controlPid, ...childrenOf(controlPid)]) process.kill(pid, signal)
}

/** The child processes of a process. */
export function childrenOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return children.split(' ').filter(Boolean).map(Number)
}

/** The title of a process; empty when it has ended. */
export function processTitle(pid: number | string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
  } catch {
    return ''
  }
}
