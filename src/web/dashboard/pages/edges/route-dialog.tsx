import { useState } from 'react'
import { api, sentenceOf } from '../../api.ts'
import { ResourceForm } from '../../form/resource-form.tsx'
import { Button, Dialog, Notice, say } from '../../kit/index.ts'
import type { Route } from '../resources.ts'

const FIELDS = ['match', 'match_type', 'description', 'metadata']

/** Adds a route to an edge, or changes or deletes one. */
export function RouteDialog({
  edgePath,
  route,
  mayChange,
  onClose,
  onDone,
}: {
  edgePath: string
  route: Route | undefined
  mayChange: boolean
  onClose: () => void
  onDone: () => void
}) {
  const [sure, setSure] = useState(false)
  const [refusal, setRefusal] = useState<string>()
  const finish = (said: string) => {
    say(said)
    onDone()
  }
  const remove = async () => {
    if (!sure) return setSure(true)
    try {
      await api.delete(`${edgePath}/routes/${route!.id}`)
      finish('The route is gone.')
    } catch (error) {
      setRefusal(sentenceOf(error))
    }
  }
  return (
    <Dialog title={route ? `Route ${route.match}` : 'New route'} onClose={onClose}>
      {!mayChange && <Notice>You may look at this, but your role does not let you change it.</Notice>}
      {mayChange && (
        <ResourceForm
          method={route ? 'PATCH' : 'POST'}
          path={route ? `${edgePath}/routes/${route.id}` : `${edgePath}/routes`}
          item={route ? { ...route } : { match_type: 'path_prefix', match: '/' }}
          only={FIELDS}
          verb={route ? 'Save' : 'Add route'}
          onCancel={onClose}
          onDone={() => finish(route ? 'Saved.' : 'The route is there. Now choose who answers.')}
        />
      )}
      {mayChange && route && (
        <div className="module-foot">
          <Button kind="danger" onClick={() => void remove()}>
            {sure ? 'Really delete it, with its modules' : 'Delete route'}
          </Button>
          {refusal && <Notice kind="bad">{refusal}</Notice>}
        </div>
      )}
    </Dialog>
  )
}
