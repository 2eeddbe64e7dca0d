import { parentPort } from 'node:worker_threads'
import '../outbound/outbound-worker.ts'
import type { ThreadRequest } from '../outbound/outbound-thread.ts'

// A thread for outbound calls that hangs after the call of a certain path.
parentPort!.on('message', (request: ThreadRequest) => {
  if ('url' in request && request.url.endsWith('/hang')) for (;;);
})
