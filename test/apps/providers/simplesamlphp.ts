import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { createSelfSigned } from '../../../src/certs/index.ts'
import { findFreePorts } from '../../support/free-ports.ts'
import { missingPrograms } from '../../support/required-programs.ts'
import { startServiceProgram } from '../../support/service-program.ts'
import { createTempDir } from '../../support/temp-dir.ts'

/** The directories of the Debian package. */
const ROOT = '/usr/share/simplesamlphp'
const ATTRIBUTE_MAPS = '/etc/simplesamlphp/attributemap/'

/** Why SimpleSAMLphp cannot run here; false when it can. */
export const reasonWithoutSimpleSamlPhp: string | false =
  missingPrograms('php') ||
  (existsSync(ROOT) ? false : 'needs SimpleSAMLphp: apt-get install -y php-mbstring php-xml simplesamlphp')

type Options = Readonly<Record<string, unknown>>

/** The attributes of a person, by name. */
export type Attributes = Readonly<Record<string, readonly string[]>>

/** A SimpleSAMLphp identity provider. */
export interface SimpleSamlPhp {
  readonly metadataUrl: string
  /** Registers a service provider by its metadata. */
  trust(metadata: string): void
  /** Changes the identity provider, such as how it signs; it reads them with the next request. */
  change(options: Options): void
  /** Replaces the key that signs, and its certificate. */
  replaceKey(): Promise<void>
}

/**
 * Starts SimpleSAMLphp as an identity provider of people with these attributes, by name and password separated by a colon.
 * All of its files are in a temporary directory.
 */
export async function startSimpleSamlPhp(
  t: TestContext,
  people: Readonly<Record<string, Attributes>>,
  {
    filters = [],
    env = {},
  }: {
    /** Filters that change the attributes of every assertion. */
    filters?: readonly Options[]
    /** Environment variables, such as those that preload a library which changes the clock. */
    env?: Readonly<Record<string, string>>
  } = {},
): Promise<SimpleSamlPhp> {
  const dir = createTempDir()
  const port = await findFreePorts(1)
  const url = `http://127.0.0.1:${port}/`
  for (const name of ['metadata', 'state']) mkdirSync(join(dir, name))
  /** Its configuration is PHP; each file reads a variable from the JSON beside it. */
  const write = (name: string, variable: string, value: Options) => {
    writeFileSync(join(dir, `${name}.json`), JSON.stringify(value))
    writeFileSync(
      join(dir, `${name}.php`),
      `<?php $${variable} = json_decode(file_get_contents('${join(dir, name)}.json'), true);`,
    )
  }

  let serviceProviders = 0
  const writeConfig = () =>
    write('config', 'config', {
      baseurlpath: url,
      certdir: dir,
      ...{ datadir: join(dir, 'state'), tempdir: join(dir, 'state'), metadatadir: join(dir, 'metadata') },
      attributenamemapdir: ATTRIBUTE_MAPS,
      ...{ secretsalt: 'the salt of a test', 'auth.adminpassword': 'the password of a test' },
      ...{ 'logging.handler': 'stderr', timezone: 'UTC', 'language.default': 'en' },
      'enable.saml20-idp': true,
      'module.enable': { core: true, exampleauth: true, saml: true },
      'authproc.idp': filters,
      // Its default is for https.
      ...{ 'session.phpsession.savepath': join(dir, 'state'), 'session.cookie.secure': false },
      'metadata.sources': [
        { type: 'flatfile' },
        ...Array.from({ length: serviceProviders }, (_, index) => ({
          type: 'xml',
          file: join(dir, `service-provider-${index}.xml`),
        })),
      ],
    })

  let options: Options = {
    host: '__DEFAULT__',
    ...{ privatekey: 'idp.key', certificate: 'idp.crt' },
    auth: 'people',
    NameIDFormat: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
  }
  const change = (changes: Options) => {
    options = { ...options, ...changes }
    // This name makes the URL of the metadata the entity id.
    write('metadata/saml20-idp-hosted', 'metadata', { '__DYNAMIC:1__': options })
  }
  const replaceKey = async () => {
    const { certificatePem, privateKeyPem } = await createSelfSigned({ commonName: 'idp.example' })
    writeFileSync(join(dir, 'idp.key'), privateKeyPem.reveal())
    writeFileSync(join(dir, 'idp.crt'), certificatePem)
  }

  writeConfig()
  write('authsources', 'config', { people: { 0: 'exampleauth:UserPass', ...people } })
  change({})
  await replaceKey()
  await startServiceProgram(t, ['php', '-S', `127.0.0.1:${port}`, '-t', join(ROOT, 'www')], {
    port,
    env: { SIMPLESAMLPHP_CONFIG_DIR: dir, ...env },
  })

  return {
    metadataUrl: `${url}saml2/idp/metadata.php`,
    trust(metadata) {
      writeFileSync(join(dir, `service-provider-${serviceProviders++}.xml`), metadata)
      writeConfig()
    },
    change,
    replaceKey,
  }
}
