import { serveJobs } from '../../base/worker-jobs.ts'
import { runSamlCheck } from './saml-checks.ts'

// What runs in the threads of `saml-thread.ts`.
serveJobs(runSamlCheck)
