import { X509Certificate } from 'node:crypto'
import { pemBlocks } from '../../base/pem-blocks.ts'
import { ModuleConfigError } from '../modules/context.ts'
import type { Snapshot } from '../snapshot.ts'

/** Returns the certificates of these authorities. A missing or unreadable authority is an error (P36). */
export function authorityCertificates(snapshot: Snapshot, ids: readonly string[]): string[] {
  return ids.flatMap((id) => {
    const authority = snapshot.authorities.get(id)
    if (authority === undefined) throw new ModuleConfigError(`the certificate authority ${id} is missing`)
    return readAuthorities(authority.ca_pem)
  })
}

/**
 * Splits a PEM text into certificates. The TLS library skips blocks it cannot parse, so a damaged text would shrink the
 * set of trusted authorities, or empty it, without notice; here it is an error.
 */
export function readAuthorities(pem: string): string[] {
  const blocks = pemBlocks(pem, 'CERTIFICATE')
  if (blocks.length === 0) throw new ModuleConfigError('a certificate authority holds no certificate')
  for (const block of blocks) {
    try {
      new X509Certificate(block)
    } catch {
      throw new ModuleConfigError('a certificate authority cannot be read')
    }
  }
  return blocks
}
