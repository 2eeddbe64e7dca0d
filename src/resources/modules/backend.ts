import { defineModule } from '../schema/module.ts'
import { described, reference, required } from '../schema/value.ts'

/** The id prefixes of all backends. */
export const BACKEND_PREFIXES = ['bkdhr', 'bkdtg', 'bkdwd', 'bkdfo', 'bkdsc'] as const

/** The backend that traffic goes to. */
export const Backend = defineModule('backend', 'Sends traffic to a backend.', {
  backend: described(
    required(reference(BACKEND_PREFIXES, 'backend_id')),
    'The backend that receives the traffic.',
  ),
})
