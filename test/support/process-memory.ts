import { readFile } from 'node:fs/promises'

/** The resident memory of a process, in MiB. */
export const residentMiB = (pid: number): Promise<number> => readMiB(pid, 'VmRSS')

/** The most that it has been so far. */
export const peakMiB = (pid: number): Promise<number> => readMiB(pid, 'VmHWM')

async function readMiB(pid: number, field: string): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)![1]) / 1024
}
