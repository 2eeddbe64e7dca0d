import { describeFileError } from '../config/file.ts'

/**
 * Lets the program outlive the readers of its output. One that went away (`| head -1`) is no fault; output that a full
 * disk did not take is told once and ends with exit code 1. Neither stops an agent from serving.
 */
export function ignoreBrokenPipe(): void {
  let failed = false
  for (const name of ['stdout', 'stderr'] as const) {
    process[name].on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE' || failed) return
      failed = true
      process.stderr.write(`ERROR:  cannot write to ${name}: ${describeFileError(error)}\n`)
      process.once('exit', (code) => {
        if (code === 0) process.exitCode = 1
      })
    })
  }
}
