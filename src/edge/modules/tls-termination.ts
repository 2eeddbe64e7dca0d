import { type Settings, TlsTermination } from '../../resources/index.ts'
import { implementModule } from '../contracts/module.ts'
import type { TlsVersion } from '../contracts/tls-policy.ts'
import type { ModuleContext } from './context.ts'

const VERSIONS: Readonly<Record<string, TlsVersion>> = {
  '1.0': 'TLSv1',
  '1.1': 'TLSv1.1',
  '1.2': 'TLSv1.2',
  '1.3': 'TLSv1.3',
}

/** Sets the minimum TLS version; 1.2 by default (P32). */
export const tlsTermination = implementModule(TlsTermination, {
  phase: 'tls',
  build({ min_version }: Pick<Settings<typeof TlsTermination>, 'min_version'>, _context: ModuleContext) {
    return { minVersion: VERSIONS[min_version ?? '1.2'] ?? 'TLSv1.2' }
  },
})
