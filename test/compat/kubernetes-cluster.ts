import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text as readText } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { eventually } from '../support/eventually.ts'
import { findFreePorts } from '../support/free-ports.ts'
import { createTempDir } from '../support/temp-dir.ts'

/** A Kubernetes API server with its database: no nodes, so that nothing runs in it, and no controllers. */
export interface KubernetesCluster {
  readonly kubeconfig: string
  /** Runs kubectl, with a document on its standard input. */
  kubectl(args: readonly string[], input?: string): Promise<string>
}

/** Starts a cluster that ends with the test. */
export async function startCluster(t: TestContext): Promise<KubernetesCluster> {
  const dir = createTempDir()
  const [port, etcdPort, peerPort] = [await findFreePorts(1), await findFreePorts(1), await findFreePorts(1)]
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const file = (name: string, content: string | Buffer) => {
    writeFileSync(join(dir, name), content, { mode: 0o600 })
    return join(dir, name)
  }
  const etcdUrl = `http://127.0.0.1:${etcdPort}`
  startProgram(t, [
    'etcd',
    ...flags({
      'data-dir': join(dir, 'etcd'),
      'listen-client-urls': etcdUrl,
      'advertise-client-urls': etcdUrl,
      'listen-peer-urls': `http://127.0.0.1:${peerPort}`,
    }),
  ])
  startProgram(t, [
    'kube-apiserver',
    ...flags({
      'etcd-servers': etcdUrl,
      'bind-address': '127.0.0.1',
      'secure-port': String(port),
      'cert-dir': join(dir, 'certificates'),
      'token-auth-file': file('tokens.csv', 'admin-token,admin,admin,system:masters\n'),
      'service-account-issuer': 'https://kubernetes.default.svc',
      'service-account-key-file': file('accounts.pub', publicKey.export({ type: 'spki', format: 'pem' })),
      'service-account-signing-key-file': file(
        'accounts.key',
        privateKey.export({ type: 'pkcs8', format: 'pem' }),
      ),
      'service-cluster-ip-range': '10.0.0.0/24',
      'disable-admission-plugins': 'ServiceAccount',
    }),
  ])
  const kubeconfig = file(
    'kubeconfig',
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        { name: 'test', cluster: { server: `https://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true } },
      ],
      users: [{ name: 'admin', user: { token: 'admin-token' } }],
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'admin' } }],
      'current-context': 'test',
    }),
  )
  // Not synchronous: the platform that programs of the cluster call may be in this process.
  const kubectl = async (args: readonly string[], input = '') => {
    const child = execFile('kubectl', [`--kubeconfig=${kubeconfig}`, ...args])
    child.stdin?.end(input)
    const [stdout, stderr, [code]] = await Promise.all([
      readText(child.stdout!),
      readText(child.stderr!),
      once(child, 'close'),
    ])
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`)
    return stdout
  }
  await eventually(() => kubectl(['get', 'namespace', 'default']), 'the API server answers')
  return { kubeconfig, kubectl }
}

/** Runs a program until the test ends; COMPAT_LOG shows what it prints. */
export function startProgram(
  t: TestContext,
  [program, ...args]: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): ChildProcess {
  const stdio = process.env.COMPAT_LOG === undefined ? 'ignore' : 'inherit'
  const child = spawn(program!, args, { env, stdio })
  t.after(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  return child
}

const flags = (values: Record<string, string>) =>
  Object.entries(values).map(([name, value]) => `--${name}=${value}`)
