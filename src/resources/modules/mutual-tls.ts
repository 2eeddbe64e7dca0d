import { defineModule } from '../module.ts'
import { references, required } from '../value.ts'

/** Admits only clients with a certificate of one of these authorities. */
export const MutualTls = defineModule('mutual_tls', {
  certificate_authorities: required(
    references(['ca'], 'certificate_authority_ids', { minItems: 1, maxItems: 10 }),
  ),
})
