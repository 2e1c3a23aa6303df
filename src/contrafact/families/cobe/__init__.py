"""CoBe: counterfactual edits of stories, judged by causal criteria."""
