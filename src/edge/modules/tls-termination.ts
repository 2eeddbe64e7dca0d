import { type Settings, TlsTermination } from '../../resources/index.ts'
import { defineModule } from '../module.ts'
import type { World } from './world.ts'

/**
 * From which version on TLS is spoken. Minimums below 1.2 are met by speaking 1.2 and 1.3: the older versions are never
 * offered (P32).
 */
export const tlsTermination = defineModule(TlsTermination, {
  phase: 'tls',
  build({ min_version }: Pick<Settings<typeof TlsTermination>, 'min_version'>, _world: World) {
    return { minVersion: min_version === '1.3' ? 'TLSv1.3' : 'TLSv1.2' }
  },
})
