import { join } from 'node:path'
import { Secret } from '../base/secret.ts'
import { type Authority, createAuthority, loadAuthority } from '../certs/index.ts'
import type { Store } from '../store/index.ts'
import { writeWholeFile } from './whole-file.ts'

const CERTIFICATE = 'root.certificate'
const KEY = 'root.key'

/**
 * The platform's private root. It lives in the store, its key sealed, so that every node signs with the same one;
 * the certificate is also written to the data directory for programs that have to trust it.
 */
export async function openRootAuthority(
  store: Store,
  dataDir: string,
): Promise<{ authority: Authority; file: string }> {
  const file = join(dataDir, 'ca.pem')
  let certificatePem = await store.setting(CERTIFICATE)
  let key = await store.setting(KEY)
  if (certificatePem === undefined || key === undefined) {
    const made = await createAuthority()
    certificatePem = made.certificatePem
    key = made.privateKeyPem.reveal()
    await store.putSetting(KEY, key, { secret: true })
    await store.putSetting(CERTIFICATE, certificatePem)
  }
  await writeWholeFile(file, certificatePem, 0o644)
  return { authority: await loadAuthority({ certificatePem, privateKeyPem: new Secret(key) }), file }
}
