import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createSecureContext, createServer } from 'node:tls'
import { promisify } from 'node:util'
import { eventually } from '../support/eventually.ts'
import { type NamesPlatform, startNames, userZone } from '../support/names.ts'
import { createTempDir } from '../support/temp-dir.ts'

const run = promisify(execFile)

/** Starts a TLS server with the certificates that `lookup` returns, like the edge. */
async function serveTls(t: TestContext, { certs }: NamesPlatform): Promise<number> {
  const server = createServer(
    {
      SNICallback: (name, done) => {
        Promise.resolve(certs.lookup(name)).then(
          (served) => done(null, served && createSecureContext({ cert: served.certPem, key: served.keyPem })),
          (error) => done(error),
        )
      },
    },
    (socket) => {
      socket.on('error', () => {})
      socket.end('HTTP/1.1 200 OK\r\ncontent-length: 3\r\nconnection: close\r\n\r\nyes')
    },
  )
  server.on('tlsClientError', () => {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return (server.address() as AddressInfo).port
}

async function readDomain({ api }: NamesPlatform, id: string) {
  const path = id.startsWith('rd_') ? `/reserved_domains/${id}` : `/agent_ingresses/${id}`
  return (await api.call('GET', path)).body
}

/** Resolves with the resource once its certificate is issued. */
function waitForCertificate(platform: NamesPlatform, id: string) {
  return eventually(async () => {
    const body = await readDomain(platform, id)
    return body.certificate_management_status?.renews_at && body
  }, `a certificate for ${id}`)
}

test('a custom domain gets a certificate once its CNAME points to the platform', async (t) => {
  const platform = await startNames(t)
  const { call } = platform.api
  const domain = await call.create('/reserved_domains', { domain: 'shop.example.com' })
  const pendingStatus = await eventually(async () => {
    const { certificate_management_status: status } = await readDomain(platform, domain.id)
    return status.provisioning_job.error_code && status
  }, 'a status that names the missing record')

  platform.serve(
    userZone('example.com', [{ name: 'shop.example.com', type: 'CNAME', data: domain.cname_target }]),
  )
  platform.clock.offset += 2 * 60_000
  await platform.certs.runDue()

  const { provisioning_job: job } = pendingStatus
  assert.equal(job.error_code, 'DNS_ERROR')
  assert.match(job.msg, /shop\.example\.com/)
  assert.ok(Date.parse(job.retries_at) > Date.parse(job.started_at))
  const issuedDomain = await readDomain(platform, domain.id)
  assert.equal(issuedDomain.certificate_management_status.provisioning_job, null)
  assert.match(issuedDomain.certificate.id, /^cert_/)
  const { body: certificate } = await call('GET', `/tls_certificates/${issuedDomain.certificate.id}`)
  assert.deepEqual(certificate.subject_alternative_names.dns_names, ['shop.example.com'])
  assert.equal(certificate.private_key_type, 'rsa')
  assert.ok(certificate.issued_at)
  assert.equal(platform.pebble.count('order'), 1 + 1, 'one for the domain, one for the platform itself')
})

test('openssl and curl accept the served certificate, and a renewal is served without a restart', async (t) => {
  const platform = await startNames(t)
  platform.serve(userZone('example.com', [{ name: '*.example.com', type: 'A', data: '127.0.0.1' }]))
  const dir = createTempDir()
  const rootFile = join(dir, 'root.pem')
  await writeFile(rootFile, await platform.pebble.root())
  const port = await serveTls(t, platform)
  const domain = await platform.api.call.create('/reserved_domains', {
    domain: 'shop.example.com',
    certificate_management_policy: { authority: 'letsencrypt', private_key_type: 'ecdsa' },
  })
  const first = await waitForCertificate(platform, domain.id)
  const runOpenssl = () =>
    run('openssl', [
      's_client',
      ...['-connect', `127.0.0.1:${port}`, '-servername', 'shop.example.com'],
      ...['-CAfile', rootFile, '-verify_return_error', '-verify_hostname', 'shop.example.com'],
    ])

  const firstOutput = await runOpenssl()
  const { stdout } = await run('curl', [
    ...['-sS', '--cacert', rootFile, '--resolve', `shop.example.com:${port}:127.0.0.1`],
    `https://shop.example.com:${port}/`,
  ])
  platform.clock.offset = Date.parse(first.certificate_management_status.renews_at) - Date.now() + 1000
  await platform.certs.runDue()
  const secondOutput = await runOpenssl()

  assert.match(firstOutput.stdout, /Verify return code: 0 \(ok\)/)
  assert.match(firstOutput.stdout, /Server public key is 256 bit/)
  assert.equal(stdout, 'yes')
  const second = await readDomain(platform, domain.id)
  assert.notEqual(second.certificate.id, first.certificate.id)
  assert.match(secondOutput.stdout, /Verify return code: 0 \(ok\)/)
  const extractPem = (text: string) => /-----BEGIN CERTIFICATE-----.*?-----END/s.exec(text)?.[0]
  assert.notEqual(extractPem(secondOutput.stdout), extractPem(firstOutput.stdout))
  await eventually(async () => {
    const { status } = await platform.api.call('GET', `/tls_certificates/${first.certificate.id}`)
    return status === 404
  }, 'the old certificate is gone')
})

test('a wildcard domain gets a certificate through the CNAME of its challenge', async (t) => {
  const platform = await startNames(t)
  const domain = await platform.api.call.create('/reserved_domains', {
    domain: '*.apps.example.com',
    certificate_management_policy: { authority: 'letsencrypt', private_key_type: 'ecdsa' },
  })

  platform.serve(
    userZone('example.com', [
      { name: '_acme-challenge.apps.example.com', type: 'CNAME', data: domain.acme_challenge_cname_target },
    ]),
  )
  platform.clock.offset += 3 * 60_000
  await platform.certs.runDue()

  const issuedDomain = await readDomain(platform, domain.id)
  assert.equal(issuedDomain.certificate_management_status.provisioning_job, null)
  const served = await platform.certs.lookup('one.apps.example.com')
  const certificate = new X509Certificate(served!.certPem)
  assert.equal(certificate.subjectAltName, 'DNS:*.apps.example.com')
  assert.equal(served, await platform.certs.lookup('two.apps.example.com'))
  assert.deepEqual(platform.certs.dnsChallenges(), [], 'nothing is left in DNS')
})

test('an agent ingress gets a certificate for all its regions once its zone is delegated', async (t) => {
  const platform = await startNames(t)
  const ingress = await platform.api.call.create('/agent_ingresses', {
    domain: 'agents.example.com',
    certificate_management_policy: { authority: 'letsencrypt', private_key_type: 'rsa' },
  })

  const issuedDomain = await waitForCertificate(platform, ingress.id)

  assert.deepEqual(
    issuedDomain.ns_targets,
    ['ns1', 'ns2', 'ns3', 'ns4'].map((name) => `${name}.adit.test.`),
  )
  assert.deepEqual(issuedDomain.region_domains, ['tunnel.us.agents.example.com'])
  const served = await platform.certs.agentCertificate('tunnel.us.agents.example.com')
  const certificate = new X509Certificate(served!.certPem)
  assert.equal(certificate.checkHost('tunnel.us.agents.example.com'), 'tunnel.us.agents.example.com')
  assert.ok(certificate.issuer.includes('Pebble'))
  assert.equal(certificate.publicKey.asymmetricKeyType, 'rsa')
  assert.equal(
    platform.certs.ingressOf('tunnel.us.agents.example.com')?.account,
    platform.api.account.accountId,
  )
})

test('an agent ingress without a policy gets a certificate of the private root immediately', async (t) => {
  const platform = await startNames(t)
  const ingress = await platform.api.call.create('/agent_ingresses', { domain: 'agents.example.com' })

  const served = await eventually(
    () => platform.certs.agentCertificate('tunnel.us.agents.example.com'),
    'a certificate',
  )

  assert.equal(ingress.certificate_management_status, null)
  assert.match(new X509Certificate(served.certPem).issuer, /Adit private root/)
})

test('a new region gets a name and a certificate under every ingress', async (t) => {
  const platform = await startNames(t)
  const ingress = await platform.api.call.create('/agent_ingresses', {
    domain: 'agents.example.com',
    certificate_management_policy: { authority: 'letsencrypt', private_key_type: 'ecdsa' },
  })
  await waitForCertificate(platform, ingress.id)

  await platform.node({ region: 'eu', addresses: ['127.0.0.2'] })

  const served = await eventually(async () => {
    const candidate = await platform.certs.agentCertificate('tunnel.eu.agents.example.com')
    return candidate && /Pebble/.test(new X509Certificate(candidate.certPem).issuer) && candidate
  }, 'a certificate that names the new region')
  const { region_domains } = await readDomain(platform, ingress.id)
  assert.deepEqual(region_domains, ['tunnel.us.agents.example.com', 'tunnel.eu.agents.example.com'])
  assert.ok(new X509Certificate(served.certPem).checkHost('tunnel.us.agents.example.com'))
})

test('the platform gets a wildcard certificate for its domain and for reserved subdomains', async (t) => {
  const platform = await startNames(t)
  await platform.api.call.create('/reserved_domains', { domain: 'api.team.adit.test' })
  await platform.api.call.create('/reserved_domains', { domain: '*.team.adit.test' })
  const isPublic = async (name: string) => {
    const served = await platform.certs.lookup(name)
    const certificate = served && new X509Certificate(served.certPem)
    return certificate?.issuer.includes('Pebble') && certificate.checkHost(name)
  }

  for (const name of ['adit.test', 'any.adit.test', 'api.team.adit.test', 'x.team.adit.test'])
    assert.ok(await eventually(() => isPublic(name), `a public certificate for ${name}`), name)
  const issuer = async (name: string) =>
    new X509Certificate((await platform.certs.agentCertificate(name))!.certPem).issuer
  for (const name of ['adit.test', 'connect.adit.test', 'tunnel.adit.test'])
    assert.match(await issuer(name), /Pebble/, `agents connect to ${name}`)
})
