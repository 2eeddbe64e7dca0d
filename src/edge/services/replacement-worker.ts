import { serveJobs } from '../../base/threads/worker-jobs.ts'
import { runReplacementJob } from './replacement-job.ts'

// Runs in the worker threads of `body-replacer.ts`.
serveJobs(runReplacementJob)
