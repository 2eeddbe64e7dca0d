import { reason } from '../config/file.ts'

/**
 * Lets the program outlive the readers of its output. One that went away (`| head -1`) is no fault; output that a full
 * disk did not take is told once and ends with exit code 1. Neither stops an agent from serving.
 */
export function outliveReaders(): void {
  let lost = false
  for (const name of ['stdout', 'stderr'] as const) {
    process[name].on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE' || lost) return
      lost = true
      process.stderr.write(`ERROR:  cannot write to ${name}: ${reason(error)}\n`)
      process.once('exit', (code) => {
        if (code === 0) process.exitCode = 1
      })
    })
  }
}
