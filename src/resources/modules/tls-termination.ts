import { defineModule } from '../schema/module.ts'
import { choice, described, nullable } from '../schema/value.ts'

const DESCRIPTION = 'Where TLS terminates, and the minimum version.'

const terminateAt = <const T extends string>(places: readonly T[], fallback: NoInfer<T>) =>
  described(choice(places, fallback), 'Where TLS terminates: at this edge, or at the upstream service.')

const minVersion = described(
  nullable(choice(['1.0', '1.1', '1.2', '1.3'], '1.2')),
  'The minimum TLS version. Older versions are rejected. Default: 1.2.',
)

/** Where a TLS edge terminates TLS, and the minimum version. */
export const TlsTermination = defineModule(
  'tls_termination',
  DESCRIPTION,
  {
    terminate_at: terminateAt(['edge', 'upstream'], 'upstream'),
    min_version: minVersion,
  },
  {
    rule: ({ terminate_at, min_version }) =>
      terminate_at === 'upstream' && min_version !== null
        ? {
            field: 'min_version',
            message:
              'it must be null when terminate_at is upstream, because the edge does not take part in the handshake.',
          }
        : undefined,
  },
)

/** The same for an HTTPS edge, which always terminates TLS itself. */
export const HttpsTlsTermination = defineModule('tls_termination', DESCRIPTION, {
  terminate_at: terminateAt(['edge'], 'edge'),
  min_version: minVersion,
})
