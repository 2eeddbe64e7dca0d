import { defineModule } from '../module.ts'
import { reference, required } from '../value.ts'

/** Prefixes of everything that can answer traffic. */
export const BACKEND_PREFIXES = ['bkdhr', 'bkdtg', 'bkdwd', 'bkdfo', 'bkdsc'] as const

/** What answers the traffic. */
export const Backend = defineModule('backend', {
  backend: required(reference(BACKEND_PREFIXES, 'backend_id')),
})
