import type { Clock } from '../../base/values/clock.ts'
import { Secret } from '../../base/values/secret.ts'
import type { Store } from '../../store/index.ts'
import {
  type ClientCertificate,
  createAuthority,
  type KeyedCertificate,
  loadAuthority,
  renewAuthority,
} from './authority.ts'
import { readCertificateRequest } from './certificate-request.ts'

/** The certificate and the key of the authority, as JSON. */
const SETTING = 'kubernetes.authority'

const DAY = 24 * 60 * 60 * 1000

/** The official operator renews its certificate 30 days before the end, and again and again if it gets one for less. */
const LIFETIME_DAYS = 90

/** Issues the certificates with which Kubernetes operators prove who they are. */
export interface OperatorAuthority {
  /** Issues a certificate that names the operator, for the key of its request; throws what is wrong with the request. */
  issue(csrPem: string, operatorId: string): Promise<ClientCertificate>
}

/**
 * The platform's authority for operators, apart from its private root: no server should trust what it signs. The store holds
 * it, sealed, from its first use on, so that all nodes sign with the same key. It is read for each certificate: an operator
 * needs one every 60 days.
 */
export function createOperatorAuthority({
  store,
  clock,
}: {
  readonly store: Pick<Store, 'setting' | 'putSetting'>
  readonly clock: Clock
}): OperatorAuthority {
  async function save({ certificatePem, privateKeyPem }: KeyedCertificate): Promise<KeyedCertificate> {
    const text = JSON.stringify({ certificatePem, privateKeyPem: privateKeyPem.reveal() })
    await store.putSetting(SETTING, text, { secret: true })
    return { certificatePem, privateKeyPem }
  }

  async function open(now: number): Promise<KeyedCertificate> {
    const stored = await store.setting(SETTING)
    if (stored === undefined)
      return save(await createAuthority({ commonName: 'Adit Kubernetes operators', now }))
    const { certificatePem, privateKeyPem } = JSON.parse(stored) as Record<string, string>
    return { certificatePem: certificatePem!, privateKeyPem: new Secret(privateKeyPem!) }
  }

  return {
    async issue(csrPem, operatorId) {
      const publicKey = await readCertificateRequest(csrPem)
      const now = clock.now()
      const material = await open(now)
      let authority = await loadAuthority(material)
      const isValid =
        authority.notBefore.getTime() <= now && now + LIFETIME_DAYS * DAY < authority.notAfter.getTime()
      if (!isValid) authority = await loadAuthority(await save(await renewAuthority(material, { now })))
      return authority.issueClient({ publicKey, commonName: operatorId, days: LIFETIME_DAYS, now })
    },
  }
}
