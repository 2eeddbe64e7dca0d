import { X509Certificate } from 'node:crypto'
import { Secret } from '../../../base/values/secret.ts'
import { createSelfSigned, type KeyedCertificate, renewSelfSigned } from '../../../certs/index.ts'
import {
  type EndpointConfiguration,
  type HttpsRoute,
  type Saml,
  type Settings,
  samlUrls,
} from '../../../resources/index.ts'
import type { WriteContext } from '../../call.ts'

type Context = WriteContext<typeof HttpsRoute.kind | typeof EndpointConfiguration.kind>

/** Completes the `saml` module of a resource with the URLs and the signing certificate of its service provider. */
export async function withSamlService(
  saml: Settings<typeof Saml> | null,
  context: Context,
): Promise<Settings<typeof Saml> | null> {
  if (saml === null) return null
  const { certificatePem, privateKeyPem } = await signingCertificate(context)
  return {
    ...saml,
    ...samlUrls(context.config.idpUrl(), context.id),
    request_signing_certificate_pem: certificatePem,
    request_signing_key_pem: privateKeyPem.reveal(),
  }
}

/** Keeps the key that signs SAML requests; replaces its certificate when that is not valid now (decision 148). */
async function signingCertificate({ id, existing, clock }: Context): Promise<KeyedCertificate> {
  const certificatePem = existing?.data.saml?.request_signing_certificate_pem
  const keyPem = existing?.secrets?.['saml.request_signing_key_pem']
  if (!certificatePem || !keyPem) return createSelfSigned({ commonName: id })
  const stored = { certificatePem, privateKeyPem: new Secret(keyPem) }
  const { validFromDate, validToDate } = new X509Certificate(certificatePem)
  const now = clock.now()
  return validFromDate.getTime() <= now && now <= validToDate.getTime()
    ? stored
    : renewSelfSigned(stored, { commonName: id })
}
