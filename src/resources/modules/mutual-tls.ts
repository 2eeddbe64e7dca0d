import { defineModule } from '../schema/module.ts'
import { described, references, required } from '../schema/value.ts'

/** Admits only clients with a certificate of one of these authorities. */
export const MutualTls = defineModule('mutual_tls', 'Requires a client certificate.', {
  certificate_authorities: described(
    required(references(['ca'], 'certificate_authority_ids', { minItems: 1, maxItems: 10 })),
    'The authorities that may have issued the client certificate.',
  ),
})
