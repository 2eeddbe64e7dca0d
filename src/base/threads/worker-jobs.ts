import { parentPort } from 'node:worker_threads'
import { errorMessage } from '../text/error-message.ts'
import type { WorkerReply } from './worker-pool.ts'

/** The worker side of a `WorkerPool`: runs each job and replies with its result or error. */
export function serveJobs<Job, Result>(run: (job: Job) => Result | Promise<Result>): void {
  const port = parentPort!
  const reply = (value: WorkerReply<Result>) => port.postMessage(value)
  port.on('message', async (job: Job) => {
    try {
      reply({ result: await run(job) })
    } catch (error) {
      reply({ error: errorMessage(error) })
    }
  })
  reply(undefined)
}
