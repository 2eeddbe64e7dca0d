import { valuesOf } from '../../form/model.ts'
import { ResourceForm } from '../../form/resource-form.tsx'
import { BreakableText, CopyButton, Dialog, Facts, Notice, notify } from '../../kit/index.ts'
import { bodySchema, templateOf, useOpenApi } from '../../openapi.ts'
import { ConfirmButton } from '../confirm-button.tsx'
import { httpsUrlOf, usePlatform } from '../platform.ts'
import type { ModuleSettings } from '../resources.ts'
import { Icon } from './icons.tsx'
import { MODULES, type ModuleName, SIGN_IN_MODULES } from './modules.ts'

// Rarely changed settings, collapsed by default.
const ADVANCED_FIELDS = [
  'enabled',
  'options_passthrough',
  'cookie_prefix',
  'inactivity_timeout',
  'maximum_duration',
  'auth_check_interval',
  'token_endpoint_auth_method',
  'userinfo_refresh_interval',
  'force_authn',
  'allow_idp_initiated',
  'nameid_format',
  'email_attribute',
  'name_attribute',
  'groups_attribute',
]

/** Adds a module to an edge or route, or edits, switches off or removes the existing one. */
export function ModuleDialog({
  scopePath,
  module,
  settings,
  mayChange,
  onClose,
  onDone,
}: {
  /** The API path of the edge or route. */
  scopePath: string
  module: ModuleName
  /** Undefined when the module is added. */
  settings: ModuleSettings | undefined
  mayChange: boolean
  onClose: () => void
  onDone: () => void
}) {
  const { title, action } = MODULES[module]
  const path = `${scopePath}/${module}`
  const finish = (message: string) => {
    notify(message)
    onDone()
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <p className="quiet">This module {action}.</p>
      {(module === 'oidc' || module === 'oauth') && <CallbackAddress module={module} />}
      {module === 'oidc' && <LogoutAddress scopeId={scopePath.slice(scopePath.lastIndexOf('/') + 1)} />}
      {module === 'saml' && settings && <SamlAddresses settings={settings} />}
      {mayChange ? (
        <>
          <ResourceForm
            method="PUT"
            path={path}
            item={settings}
            advanced={ADVANCED_FIELDS}
            verb={settings ? 'Save' : `Add ${title.toLowerCase().replace('tls', 'TLS')}`}
            onCancel={onClose}
            onDone={() => finish(settings ? 'Saved.' : `${title} added.`)}
          />
          {settings && <ModuleActions path={path} title={title} settings={settings} onDone={finish} />}
        </>
      ) : (
        <Notice>You can view this, but your role does not let you change it.</Notice>
      )}
    </Dialog>
  )
}

function ModuleActions({
  path,
  title,
  settings,
  onDone,
}: {
  path: string
  title: string
  settings: ModuleSettings
  onDone: (message: string) => void
}) {
  const { document } = useOpenApi()
  const template = document && templateOf(document, path)
  const schema = template && bodySchema(document, 'PUT', template)
  const values = document && schema ? valuesOf(schema, settings, document) : {}
  const { enabled } = settings
  return (
    <div className="module-foot">
      <ConfirmButton
        label={enabled ? 'Switch off' : 'Switch on'}
        title={`Switch ${title} ${enabled ? 'off' : 'on'}?`}
        disabled={schema === undefined}
        call={{ method: 'PUT', path, body: { ...values, enabled: !enabled } }}
        onDone={() => onDone(enabled ? `${title} is switched off.` : `${title} is switched on.`)}
      >
        {enabled
          ? 'The module keeps its settings, and requests skip it.'
          : 'The module runs again with its current settings.'}
      </ConfirmButton>
      <ConfirmButton
        label="Remove"
        kind="danger"
        title={`Remove ${title}?`}
        call={{ method: 'DELETE', path }}
        onDone={() => onDone(`${title} removed.`)}
      >
        Its settings are permanently deleted, and requests skip it.
      </ConfirmButton>
    </div>
  )
}

/** The redirect URL to register with the identity provider. */
function CallbackAddress({ module }: { module: 'oidc' | 'oauth' }) {
  const platform = usePlatform()
  if (!platform) return null
  const base = httpsUrlOf(`idp.${platform.domain}`, platform)
  const address = `${base}/oauth2/callback`
  return (
    <Notice>
      Register this redirect (callback) URL with the provider
      {module === 'oidc' && ', also as its post-logout redirect URI'}:
      <span className="copy-line">
        <code>{address}</code> <CopyButton text={address} />
      </span>
      {module === 'oidc' ? (
        <>
          If the provider does not announce{' '}
          <code>
            <BreakableText text="authorization_response_iss_parameter_supported" />
          </code>
          , register <code>{base}/oidc/callback/</code> followed by its issuer without <code>https://</code>{' '}
          instead.
        </>
      ) : (
        <>
          For GitHub, register <code>{base}/oauth2/github/callback</code> instead; for GitLab and LinkedIn,
          the same with their name.
        </>
      )}
    </Notice>
  )
}

/** The URL to which the identity provider reports sign-outs. */
function LogoutAddress({ scopeId }: { scopeId: string }) {
  const platform = usePlatform()
  if (!platform) return null
  const address = `${httpsUrlOf(`idp.${platform.domain}`, platform)}/oidc/backchannel-logout/${scopeId}`
  return (
    <Notice>
      Register this back-channel logout URL with the provider to end the sessions of users who sign out there:
      <span className="copy-line">
        <code>{address}</code> <CopyButton text={address} />
      </span>
    </Notice>
  )
}

function SamlAddresses({ settings }: { settings: ModuleSettings }) {
  const text = (name: string) => (typeof settings[name] === 'string' ? (settings[name] as string) : '')
  return (
    <Facts
      entries={[
        ['Metadata for the provider', text('metadata_url')],
        ['Entity ID', text('entity_id')],
        ['Assertion consumer service', text('assertion_consumer_service_url')],
        ['Single logout', text('single_logout_url')],
      ]}
    />
  )
}

/** Selects the module to add to an edge or route. */
export function AddModuleDialog({
  names,
  isPresent,
  onPick,
  onClose,
}: {
  names: readonly ModuleName[]
  /** Whether the edge or route already has the module. */
  isPresent: (name: ModuleName) => boolean
  onPick: (name: ModuleName) => void
  onClose: () => void
}) {
  const signIn = SIGN_IN_MODULES.find(isPresent)
  const available = names.filter((name) => !isPresent(name))
  return (
    <Dialog title="Add a module" onClose={onClose}>
      <p className="quiet">Modules run in this order, regardless of the order they were added in.</p>
      <div className="kinds">
        {available.map((name) => {
          const excluded = signIn !== undefined && SIGN_IN_MODULES.includes(name)
          return (
            <button
              type="button"
              key={name}
              className="kind"
              disabled={excluded}
              onClick={() => onPick(name)}
            >
              <Icon name={name} />
              <span>
                <b>{MODULES[name].title}</b>
                <small>
                  {excluded ? `Cannot be combined with: ${MODULES[signIn].title}` : MODULES[name].action}
                </small>
              </span>
            </button>
          )
        })}
        {available.length === 0 && <p>All available modules are already added.</p>}
      </div>
    </Dialog>
  )
}
