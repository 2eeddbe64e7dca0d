import { serveJobs } from '../threads/worker-jobs.ts'

// The jobs that the worker pool's tests run.
serveJobs<{ kind: string; gate?: Int32Array; text?: string }, unknown>(({ kind, gate, text }) => {
  switch (kind) {
    case 'echo':
      return text
    case 'reject':
      throw new Error('not this one')
    case 'wait':
      Atomics.wait(gate!, 0, 0)
      return 'opened'
    case 'hang':
      for (;;);
    case 'exit':
      process.exit(3)
      break
    case 'throw':
      setImmediate(() => {
        throw new Error('outside of any job')
      })
      return new Promise(() => {})
    case 'memory': {
      const chunks: string[] = []
      for (;;) chunks.push('x'.repeat(1000) + chunks.length)
    }
  }
  return undefined
})
