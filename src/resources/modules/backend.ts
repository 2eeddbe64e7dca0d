import { defineModule } from '../module.ts'
import { reference, required } from '../value.ts'

/** The id prefixes of all backends. */
export const BACKEND_PREFIXES = ['bkdhr', 'bkdtg', 'bkdwd', 'bkdfo', 'bkdsc'] as const

/** The backend that traffic goes to. */
export const Backend = defineModule('backend', {
  backend: required(reference(BACKEND_PREFIXES, 'backend_id')),
})
