import { serveJobs } from '../../../base/threads/worker-jobs.ts'
import { runSamlCheck } from './saml-checks.ts'

// Runs in the worker threads of `saml-pool.ts`.
serveJobs(runSamlCheck)
