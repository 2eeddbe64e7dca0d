import { serveJobs } from '../../base/threads/worker-jobs.ts'
import { runPolicyJob } from './policy-jobs.ts'

// Runs in the worker threads of `policy-tools.ts`.
serveJobs(runPolicyJob)
