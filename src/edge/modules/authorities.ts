import { X509Certificate } from 'node:crypto'
import { pemBlocks } from '../../base/text/pem-blocks.ts'
import { ModuleConfigError } from './context.ts'

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
