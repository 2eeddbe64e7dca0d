import { serveJobs } from '../threads/worker-jobs.ts'

// What the tests of the worker pool ask a thread to do.
serveJobs<{ kind: string; gate?: Int32Array; text?: string }, unknown>(({ kind, gate, text }) => {
  switch (kind) {
    case 'echo':
      return text
    case 'refuse':
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
      const kept: string[] = []
      for (;;) kept.push('x'.repeat(1000) + kept.length)
    }
  }
  return undefined
})
