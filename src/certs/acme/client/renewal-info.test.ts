import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { createAuthority, loadAuthority } from '../../x509/authority.ts'
import { renewalId } from './renewal-info.ts'

// The certificate and the identifier of RFC 9773, appendix A and section 4.1.
const EXAMPLE = `-----BEGIN CERTIFICATE-----
MIIBQzCB66ADAgECAgUAh2VDITAKBggqhkjOPQQDAjAVMRMwEQYDVQQDEwpFeGFt
cGxlIENBMCIYDzAwMDEwMTAxMDAwMDAwWhgPMDAwMTAxMDEwMDAwMDBaMBYxFDAS
BgNVBAMTC2V4YW1wbGUuY29tMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEeBZu
7cbpAYNXZLbbh8rNIzuOoqOOtmxA1v7cRm//AwyMwWxyHz4zfwmBhcSrf47NUAFf
qzLQ2PPQxdTXREYEnKMjMCEwHwYDVR0jBBgwFoAUaYhba4dGQEHhs3uEe6CuLN4B
yNQwCgYIKoZIzj0EAwIDRwAwRAIge09+S5TZAlw5tgtiVvuERV6cT4mfutXIlwTb
+FYN/8oCIClDsqBklhB9KAelFiYt9+6FDj3z4KGVelYM5MdsO3pK
-----END CERTIFICATE-----
`

test('the identifier matches the example of RFC 9773', () => {
  assert.equal(renewalId(EXAMPLE), 'aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE')
})

test('the identifier of a chain is that of its first certificate', async () => {
  const authority = await loadAuthority(await createAuthority())
  const leaf = await authority.issueLeaf({ names: ['shop.example.com'] })

  const id = renewalId(`${leaf.certificatePem}${authority.certificatePem}`)

  const serial = Buffer.from(new X509Certificate(leaf.certificatePem).serialNumber, 'hex').toString(
    'base64url',
  )
  assert.equal(id?.split('.')[1], serial)
})
