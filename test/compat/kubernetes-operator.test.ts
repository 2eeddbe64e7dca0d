import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { get } from 'node:https'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { startAgent } from '../support/agents.ts'
import { eventually, eventuallyEqual } from '../support/eventually.ts'
import { findFreePorts } from '../support/free-ports.ts'
import { startHttp, startTcp } from '../support/local-server.ts'
import { createMountNamespace } from '../support/mount-namespace.ts'
import { startPlatform, type TestPlatform } from '../support/platform.ts'
import { reasonToSkip } from '../support/required-programs.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { createTestCa } from '../support/test-ca.ts'
import { type KubernetesCluster, startCluster, startProgram } from './kubernetes-cluster.ts'
import { requireCheckout } from './suites.ts'

const { path: checkout, missing } = requireCheckout('COMPAT_NGROK_OPERATOR', 'ngrok/ngrok-operator')
const skip = missing ?? reasonToSkip('etcd', 'go', 'kube-apiserver', 'kubectl', 'unshare')

const NAME = 'ngrok-operator'
/** No listeners: in a cluster each program has an address of its own. */
const NO_LISTENERS = ['--metrics-bind-address=0', '--health-probe-bind-address=0']
/** The services of the manifests. */
const SERVICES = ['web', 'other', 'tcp', 'tcp-verbose', 'tls']

/** Where the operator connects for clients in its cluster. */
const INGRESS = 'kubernetes-bindings.adit.localhost'
/** The operator looks for its registration after a second, then every 30 seconds, and for endpoints every 10. */
const POLLING_MS = 120_000

/** Builds the operator of the checkout. */
function buildOperator(): string {
  const program = join(createTempDir(), NAME)
  const version = readFileSync(join(checkout, 'VERSION'), 'utf8').trim()
  const flag = `-X github.com/ngrok/ngrok-operator/internal/version.version=${version}`
  execFileSync('go', ['build', '-buildvcs=false', '-ldflags', flag, '-o', program, '.'], { cwd: checkout })
  return program
}

/** Installs the definitions of the operator's chart, and those of the Gateway API that the operator is built with. */
async function installDefinitions({ kubectl }: KubernetesCluster): Promise<void> {
  const module = ['list', '-m', '-f', '{{.Dir}}', 'sigs.k8s.io/gateway-api']
  const gatewayApi = execFileSync('go', module, { cwd: checkout, encoding: 'utf8' }).trim()
  await kubectl(['apply', '--server-side', '-f', join(checkout, 'helm', 'ngrok-crds', 'templates')])
  await kubectl(['apply', '--server-side', '-k', join(gatewayApi, 'config', 'crd', 'experimental')])
  await kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s'])
  await kubectl(['create', 'namespace', NAME])
}

/** The programs of the operator, where they find the private root of the platform and the services of the cluster. */
async function prepareOperator(
  t: TestContext,
  { credentials, caPem }: TestPlatform,
  { kubeconfig }: KubernetesCluster,
) {
  const dir = createTempDir()
  const certificates = join(dir, 'certificates')
  mkdirSync(join(certificates, 'ngrok'), { recursive: true })
  writeFileSync(join(certificates, 'ngrok', 'adit.pem'), caPem)
  const names = SERVICES.flatMap((name) => [`${name}.default`, `${name}.default.svc.cluster.local`])
  writeFileSync(join(dir, 'hosts'), `127.0.0.1 localhost ${INGRESS} ${names.join(' ')}\n`)
  const files = { '/etc/ssl/certs': certificates, '/etc/hosts': join(dir, 'hosts') }
  const namespace = await createMountNamespace(t, { files })
  assert.ok(namespace, 'the kernel allows no mount namespaces')

  const program = buildOperator()
  const env = {
    ...process.env,
    KUBECONFIG: kubeconfig,
    POD_NAMESPACE: NAME,
    NGROK_API_KEY: credentials.api_key,
    NGROK_AUTHTOKEN: credentials.authtoken,
  }
  const start = (...args: string[]) =>
    startProgram(t, namespace.wrap([program, ...args, ...NO_LISTENERS]), env)
  return {
    startApiManager: (...flags: string[]) =>
      start(
        'api-manager',
        `--api-url=${credentials.api_url}`,
        '--ingress-controller-name=k8s.ngrok.com/ingress-controller',
        '--election-id=',
        ...flags,
      ),
    startAgentManager: () => start('agent-manager', `--server-addr=${credentials.agent_addr}`),
    startForwarder: () => start('bindings-forwarder-manager'),
  }
}

/** Waits until every object of a kind has a condition. */
async function waitFor(
  { kubectl }: KubernetesCluster,
  condition: string,
  kind: string,
  namespace = 'default',
): Promise<void> {
  await kubectl(['wait', `--for=condition=${condition}`, kind, '--all', '--timeout=60s', '-n', namespace])
}

/** Requests a host with a certificate of its own. */
async function getTrusting(ca: string, host: string, port: number, path: string): Promise<string> {
  const [response] = await once(
    get({ ca, host: '127.0.0.1', servername: host, port, path, headers: { host }, agent: false }),
    'response',
  )
  return `${response.statusCode} ${await text(response)}`
}

test('the official Kubernetes operator makes the platform what its cluster declares', { skip }, async (t) => {
  const httpsPort = await findFreePorts(1)
  const platform = await startPlatform(t, [
    ...['--https-addr', `127.0.0.1:${httpsPort}`, '--public-https-port', '443', '--public-http-port', '80'],
  ])
  const cluster = await startCluster(t)
  const { kubectl } = cluster
  await installDefinitions(cluster)
  const port = await startHttp(t, ({ headers, url }, response) =>
    response.end(`${url} ${headers['x-route'] ?? ''}`.trim()),
  )
  const ca = await createTestCa()
  const { cert, key } = await ca.issue('secure.adit.localhost', 'zero.adit.localhost')
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'secure', namespace: 'default' },
    type: 'kubernetes.io/tls',
    stringData: { 'tls.crt': cert, 'tls.key': key },
  }
  await kubectl(['apply', '-f', '-'], JSON.stringify(secret))
  const manifests = readFileSync(join(import.meta.dirname, 'kubernetes-operator.yaml'), 'utf8').replaceAll(
    'PORT',
    String(port),
  )
  const request = async (host: string, path: string, headers: Record<string, string> = {}) => {
    const url = `https://${host}.adit.localhost:${httpsPort}${path}`
    const response = await platform.fetch(url, { redirect: 'manual', headers })
    const header = response.headers.get('location') ?? response.headers.get('x-policy') ?? ''
    return `${response.status} ${await response.text()} ${header}`.trim()
  }
  const list = async (path: string, field: string): Promise<unknown[]> => {
    const { body } = await platform.call('GET', `/${path}?limit=100`)
    return body[path].map((item: Record<string, unknown>) => item[field]).sort()
  }
  const operators = async () => (await platform.call('GET', '/kubernetes_operators')).body.operators
  const { startApiManager, startAgentManager } = await prepareOperator(t, platform, cluster)
  startAgentManager()
  const apiManager = startApiManager()
  await kubectl(['apply', '-f', '-'], manifests)

  await t.test('it registers itself', async () => {
    await eventually(() => kubectl(['get', 'kubernetesoperator', NAME, '-n', NAME]))
    await waitFor(cluster, 'Ready', 'kubernetesoperator', NAME)
    const [operator] = await operators()
    assert.deepEqual(operator.enabled_features, ['ingress', 'gateway'])
    assert.deepEqual([operator.deployment.name, operator.deployment.namespace], [NAME, NAME])
  })

  await t.test('it reserves domains and creates IP policies', async () => {
    const names = [
      '*.wild',
      'agent',
      'cloud',
      'gateway',
      'ingress',
      'own',
      'secure',
      'tls',
      'weighted',
      'zero',
    ]
    await eventuallyEqual(
      () => list('reserved_domains', 'domain'),
      names.map((name) => `${name}.adit.localhost`),
    )
    for (const kind of ['domain', 'ippolicy']) await waitFor(cluster, 'Ready', kind)
    assert.deepEqual(await list('ip_policy_rules', 'cidr'), ['127.0.0.0/8', '192.0.2.0/24'])
  })

  await t.test('endpoints of agents and of the cloud serve requests by their policies', async () => {
    await eventuallyEqual(() => request('agent', '/'), '200 / agent')
    await eventuallyEqual(() => request('cloud', '/page'), '200 /page')
    assert.equal(await request('cloud', '/secret'), '404')
    await eventuallyEqual(() => getTrusting(ca.caPem, 'zero.adit.localhost', httpsPort, '/'), '200 /')
    for (const kind of ['agentendpoint', 'cloudendpoint']) await waitFor(cluster, 'Ready', kind)
  })

  await t.test('endpoints with the binding kubernetes are listed', async () => {
    const urls = await list('endpoints', 'url')
    assert.deepEqual(
      urls.filter((url) => String(url).includes('.shop')),
      ['http://bound.shop', 'tcp://db.shop:5432'],
    )
  })

  await t.test('an Ingress serves its paths', async () => {
    await eventuallyEqual(() => request('ingress', '/web'), '200 /web')
    assert.match(await request('ingress', '/other'), /^404 /)
    const authorization = `Basic ${btoa('user:password')}`
    await eventuallyEqual(() => request('a.wild', '/exact', { authorization }), '200 /exact')
    assert.match(await request('a.wild', '/exact'), /^401 /)
  })

  await t.test('a Gateway serves its routes', async () => {
    await waitFor(cluster, 'Programmed', 'gateway')
    await eventuallyEqual(() => request('gateway', '/page'), '200 /page gateway gateway')
    assert.equal(await request('gateway', '/old'), `302  https://gateway.adit.localhost:${httpsPort}/new`)
    await eventuallyEqual(() => request('weighted', '/in/side', { 'x-team': 'blue' }), '200 /out/side')
    assert.match(await request('weighted', '/in/side'), /^404 /)
    await eventuallyEqual(() => getTrusting(ca.caPem, 'secure.adit.localhost', httpsPort, '/'), '200 /')
  })

  for (const service of ['tcp', 'tcp-verbose'])
    await t.test(
      `the service ${service} of the type LoadBalancer has an address that serves it`,
      async () => {
        const address = await eventually(async () => {
          const { status } = JSON.parse(await kubectl(['get', 'service', service, '-o', 'json']))
          return status.loadBalancer.ingress?.[0]
        })
        const response = await fetch(`http://127.0.0.1:${address.ports[0].port}/raw`)
        assert.equal(await response.text(), '/raw')
      },
    )

  await t.test('it is the same operator after a restart, and brings changes', async () => {
    const [before] = await operators()
    apiManager.kill('SIGKILL')
    const rules = [{ actions: [{ type: 'deny', config: { status_code: 410 } }] }]
    const patch = JSON.stringify({ spec: { policy: { on_http_request: rules } } })
    await kubectl(['patch', 'ngroktrafficpolicy', 'front', '--type=merge', `--patch=${patch}`])
    const description = 'restarted'
    startApiManager(`--description=${description}`, '--drain-policy=Delete')
    await eventuallyEqual(() => request('cloud', '/'), '410')
    await eventuallyEqual(
      async () =>
        (await operators()).map(({ id, description }: { id: string; description: string }) => [
          id,
          description,
        ]),
      [[before.id, description]],
    )
  })

  await t.test('it removes what is deleted from the cluster', async () => {
    await kubectl(['delete', '--wait=false', 'domain/own-adit-localhost', 'ippolicy/office'])
    await eventuallyEqual(() => list('ip_policies', 'id'), [])
    await eventually(async () => !(await list('reserved_domains', 'domain')).includes('own.adit.localhost'))
  })

  await t.test('it removes everything, and itself, when it is uninstalled', async () => {
    await kubectl(['delete', '--wait=false', 'kubernetesoperator', NAME, '-n', NAME])
    await eventuallyEqual(operators, [])
    // Not those of services: the operator may create them anew while it is being uninstalled.
    await eventuallyEqual(
      async () => (await list('endpoints', 'url')).filter((url) => String(url).startsWith('https:')),
      [],
    )
    assert.deepEqual(await list('reserved_domains', 'domain'), [])
  })
})

test('pods reach agents through the official Kubernetes operator', { skip }, async (t) => {
  const platform = await startPlatform(t)
  const cluster = await startCluster(t)
  const { kubectl } = cluster
  await installDefinitions(cluster)
  await kubectl(['create', 'namespace', 'shop'])
  await createLocalPod(cluster)
  const agent = await startAgent(t, platform)
  const bindings = ['kubernetes']
  await agent.forward({
    addr: await startHttp(t, ({ url }, response) => response.end(`inside ${url}`)),
    proto: 'http',
    url: 'http://web.shop',
    bindings,
    traffic_policy: JSON.stringify({
      on_http_response: [
        { actions: [{ type: 'add-headers', config: { headers: { 'x-pod': POD_TEMPLATE } } }] },
      ],
    }),
  })
  await agent.forward({
    addr: await startTcp(t, (socket) => socket.end('db')),
    proto: 'tcp',
    url: 'tcp://db.shop:5432',
    bindings,
  })
  const read = async (...args: string[]) => JSON.parse(await kubectl(['get', ...args, '-o', 'json']))
  const secretName = async () =>
    (await read('kubernetesoperator', NAME, '-n', NAME)).spec.binding.tlsSecretName
  const certificate = async (): Promise<string> => {
    const { data } = await read('secret', await secretName(), '-n', NAME)
    return Buffer.from(data['tls.crt'], 'base64').toString()
  }
  const operators = async () => (await platform.call('GET', '/kubernetes_operators')).body.operators
  /** The port of the forwarder for an endpoint, which is where its service leads. */
  const portOf = (url: string): Promise<number> =>
    eventually(
      async () =>
        (await read('boundendpoint', '-n', NAME)).items.find(
          ({ spec }: { spec: { endpointURL: string } }) => spec.endpointURL === url,
        )?.spec.port,
      `the port of ${url}`,
      POLLING_MS,
    )
  const { startApiManager, startForwarder } = await prepareOperator(t, platform, cluster)
  startForwarder()
  const apiManager = startApiManager('--enable-feature-bindings')

  await t.test('it gets a certificate and the address of the ingress', async () => {
    await eventually(() => kubectl(['get', 'kubernetesoperator', NAME, '-n', NAME]))
    await waitFor(cluster, 'Ready', 'kubernetesoperator', NAME)
    const [{ binding }] = await operators()
    const { status } = await read('kubernetesoperator', NAME, '-n', NAME)
    assert.equal(status.bindingsIngressEndpoint, binding.ingress_endpoint)
    assert.equal(await certificate(), binding.cert.cert)
  })

  const [http, tcp] = [await portOf('http://web.shop:80'), await portOf('tcp://db.shop:5432')]
  const request = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${http}${path}`, { headers: { connection: 'close' } })
    return `${response.status} ${await response.text()} ${response.headers.get('x-pod')}`
  }

  await t.test('pods reach an http endpoint by its service, and its policy knows them', async () => {
    await eventuallyEqual(() => request('/page'), '200 inside /page shop/cart blue')
    const { spec } = await eventually(() => read('service', 'web', '-n', 'shop'))
    assert.deepEqual([spec.type, spec.ports[0].port], ['ExternalName', 80])
    const [name] = spec.externalName.split('.')
    const upstream = await read('service', name, '-n', NAME)
    assert.equal(upstream.spec.ports[0].targetPort, http)
  })

  await t.test('pods reach a tcp endpoint', async () => {
    await eventuallyEqual(() => text(connect(tcp, '127.0.0.1')), 'db')
  })

  await t.test('it renews its certificate with a new key', async () => {
    const before = await certificate()
    // What the operator itself does 30 days before the end.
    const patch = JSON.stringify([{ op: 'remove', path: '/data/tls.csr' }])
    await kubectl(['patch', 'secret', await secretName(), '-n', NAME, '--type=json', '-p', patch])
    await kubectl(['annotate', 'kubernetesoperator', NAME, '-n', NAME, 'test=renew'])
    const renewed = await eventually(async () => {
      const current = await certificate()
      return current !== before && current
    })
    assert.equal((await operators())[0].binding.cert.cert, renewed)
    await eventually(async () => (await request('/')).startsWith('200'))
  })

  await t.test('it keeps its certificate when it starts again', async () => {
    const before = await certificate()
    apiManager.kill('SIGKILL')
    const description = 'started again'
    const restarted = startApiManager('--enable-feature-bindings', `--description=${description}`)
    await eventuallyEqual(async () => (await operators())[0].description, description)
    assert.equal(await certificate(), before)
    assert.equal(await request('/'), '200 inside / shop/cart blue')
    restarted.kill('SIGKILL')
  })

  await t.test('pods reach nothing once the operator is deleted, until it has registered again', async () => {
    const [{ id }] = await operators()
    await platform.call('DELETE', `/kubernetes_operators/${id}`)
    await eventuallyEqual(() => request('/').catch(() => 'no response'), 'no response')
    startApiManager('--enable-feature-bindings')
    await eventually(
      async () => (await request('/')).startsWith('200'),
      'pods reach the endpoint again',
      POLLING_MS,
    )
  })
})

const POD_TEMPLATE = `\${conn.k8s.pod.metadata.namespace}/\${conn.k8s.pod.metadata.name} \${conn.k8s.pod.metadata.annotations['ngrok.com/team']}`

/** Creates a pod whose address is that of this machine, so that the forwarder takes connections of the test for its own. */
async function createLocalPod({ kubectl }: KubernetesCluster): Promise<void> {
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'cart', namespace: 'shop', annotations: { 'ngrok.com/team': 'blue' } },
    spec: { containers: [{ name: 'cart', image: 'cart' }] },
  }
  await kubectl(['apply', '-f', '-'], JSON.stringify(pod))
  const status = { status: { podIP: '127.0.0.1', podIPs: [{ ip: '127.0.0.1' }] } }
  await kubectl([
    ...['patch', 'pod', 'cart', '-n', 'shop', '--subresource=status', '--type=merge'],
    ...['-p', JSON.stringify(status)],
  ])
}
