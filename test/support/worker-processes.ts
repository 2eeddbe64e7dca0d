import { readFileSync } from 'node:fs'

/** The process id of a worker of a control process; undefined while it does not run. */
export function findWorker(controlPid: number, number: number): number | undefined {
  const children = readFileSync(`/proc/${controlPid}/task/${controlPid}/children`, 'utf8').trim().split(' ')
  const pid = children.find((child) => processTitle(child) === `adit worker ${number}`)
  return pid === undefined ? undefined : Number(pid)
}

/** The title of a process; empty when it has ended. */
export function processTitle(pid: number | string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
  } catch {
    return ''
  }
}
