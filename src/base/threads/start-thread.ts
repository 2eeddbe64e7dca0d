import { join } from 'node:path'
import { Worker, type WorkerOptions } from 'node:worker_threads'
import { IS_EXECUTABLE, readProgramFileSync } from '../process/program-files.ts'

/** Starts a worker thread that runs a module. Threads of a single executable need its loader to find the module. */
export function startThread(module: URL, options: WorkerOptions = {}): Worker {
  if (!IS_EXECUTABLE) return new Worker(module, options)
  const loader = readProgramFileSync(join(process.execPath, 'executable.js'))
  return new Worker(`${loader}\nimport(${JSON.stringify(module.href)})`, { ...options, eval: true })
}
