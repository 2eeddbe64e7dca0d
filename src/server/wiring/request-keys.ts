import { Secret } from '../../base/values/secret.ts'
import { createSelfSigned, type KeyedCertificate } from '../../certs/index.ts'
import type { Store } from '../../store/index.ts'

const PREFIX = 'saml.request_key.'

/**
 * The keys that sign SAML requests of policies, one for each account. They are made on first use and sealed in the store, so
 * that all processes use the same: the first one decides.
 */
export function openRequestKeys(
  store: Pick<Store, 'setting' | 'putSetting'>,
): (accountId: string) => Promise<KeyedCertificate> {
  const keys = new Map<string, Promise<KeyedCertificate>>()
  return (accountId) => {
    const known = keys.get(accountId)
    if (known !== undefined) return known
    const key = loadOrCreate(store, accountId)
    keys.set(accountId, key)
    // Tried again with the next request.
    key.catch(() => keys.delete(accountId))
    return key
  }
}

async function loadOrCreate(
  store: Pick<Store, 'setting' | 'putSetting'>,
  accountId: string,
): Promise<KeyedCertificate> {
  const name = `${PREFIX}${accountId}`
  let stored = await store.setting(name)
  if (stored === undefined) {
    const { certificatePem, privateKeyPem } = await createSelfSigned({ commonName: accountId })
    const created = JSON.stringify({ certificatePem, privateKeyPem: privateKeyPem.reveal() })
    await store.putSetting(name, created, { secret: true, ifAbsent: true })
    stored = (await store.setting(name)) ?? created
  }
  const { certificatePem, privateKeyPem } = JSON.parse(stored) as Record<
    'certificatePem' | 'privateKeyPem',
    string
  >
  return { certificatePem, privateKeyPem: new Secret(privateKeyPem) }
}
