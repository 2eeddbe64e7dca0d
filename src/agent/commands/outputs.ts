import { describeFileError } from '../../base/text/file-error.ts'

/**
 * Keeps the program running when its output breaks. A closed pipe (`| head -1`) is not an error; a failed write, such
 * as on a full disk, is reported once and sets exit code 1. Neither stops an agent from serving.
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
