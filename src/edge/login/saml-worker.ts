import { serveJobs } from '../../base/threads/worker-jobs.ts'
import { runSamlCheck } from './saml-checks.ts'

// What runs in the threads of `saml-thread.ts`.
serveJobs(runSamlCheck)
