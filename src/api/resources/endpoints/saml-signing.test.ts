import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { startApi } from '../../../../test/support/api.ts'
import { createSelfSigned } from '../../../certs/index.ts'
import { HttpsRoute } from '../../../resources/index.ts'

const CORRECT_TIME = Date.parse('2026-11-15T12:00:00Z')
const WRONG_TIMES = { ahead: Date.parse('2038-01-01T00:00:00Z'), behind: Date.parse('1999-12-31T00:00:00Z') }
const METADATA = `<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="urn:test:idp"><IDPSSODescriptor>
  <KeyDescriptor><KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#"><X509Data><X509Certificate>AAAA</X509Certificate></X509Data></KeyInfo></KeyDescriptor>
  <SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://idp.example/sso"/></IDPSSODescriptor></EntityDescriptor>`

function isValid(pem: string, time: number): boolean {
  const { validFromDate, validToDate } = new X509Certificate(pem)
  return validFromDate.getTime() <= time && time <= validToDate.getTime()
}

for (const [how, wrong] of Object.entries(WRONG_TIMES)) {
  test(`a SAML signing certificate created while the clock was ${how} is valid once the clock is right`, async (t) => {
    const time = { now: wrong }
    const clock = { now: () => time.now, monotonic: () => performance.now() }
    const { call } = await startApi(t, { clock })
    const edge = await call.create('/edges/https', {})

    const route = await call.create(`/edges/https/${edge.id}/routes`, {
      match_type: 'path_prefix',
      match: '/',
      saml: { idp_metadata: METADATA },
    })

    assert.ok(isValid(route.saml.request_signing_certificate_pem, wrong))
    assert.ok(isValid(route.saml.request_signing_certificate_pem, CORRECT_TIME))
  })

  test(`the next change replaces a stored certificate dated by a clock ${how} by one with the same key`, async (t) => {
    const clock = { now: () => CORRECT_TIME, monotonic: () => performance.now() }
    const { call, store, account } = await startApi(t, { clock })
    const edge = await call.create('/edges/https', {})
    const route = await call.create(`/edges/https/${edge.id}/routes`, {
      match_type: 'path_prefix',
      match: '/',
      saml: { idp_metadata: METADATA },
    })
    const path = `/edges/https/${edge.id}/routes/${route.id}`
    const { certificatePem, privateKeyPem } = await createSelfSigned({
      commonName: route.id,
      notBefore: new Date(wrong),
      notAfter: new Date(wrong + 365 * 24 * 3_600_000),
    })
    const row = (await store.get(HttpsRoute.kind, account.accountId, route.id))!
    await store.write({}, async (tx) => {
      await tx.update({
        ...row,
        data: {
          ...row.data,
          saml: { ...(row.data.saml as object), request_signing_certificate_pem: certificatePem },
        },
        secrets: { ...row.secrets, 'saml.request_signing_key_pem': privateKeyPem.reveal() },
        claims: [],
        references: [{ field: 'edge_id', target: edge.id, onDelete: 'cascade' }],
      })
      await tx.audit({
        account: account.accountId,
        principal: undefined,
        credential: undefined,
        source: undefined,
        requestId: 'op_test',
        action: 'update',
        kind: HttpsRoute.kind,
        object: route.id,
        outcome: 'done',
      })
    })

    const change = async (description: string) =>
      (await call('PATCH', path, { body: { description } })).body.saml.request_signing_certificate_pem
    const renewed = await change('first')

    assert.ok(isValid(renewed, CORRECT_TIME))
    const keyOf = (pem: string) => new X509Certificate(pem).publicKey.export({ type: 'spki', format: 'pem' })
    assert.equal(keyOf(renewed), keyOf(certificatePem))
    assert.equal(await change('second'), renewed, 'a valid certificate is kept')
  })
}
