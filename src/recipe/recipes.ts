/** All recipes by name. */

import { nearest, VfError } from '../errors.js';
import type { Recipe } from './recipe.js';
import { copyingVerifier, tinyT3rlRecipe, underTrainedVerifier, wrongRuleVerifier } from './t3rl-recipe.js';
import { tinyPlainRecipe, tinyRecipe } from './verifree-recipe.js';

export const RECIPES: readonly Recipe[] = [
  tinyRecipe,
  tinyPlainRecipe,
  tinyT3rlRecipe,
  wrongRuleVerifier,
  underTrainedVerifier,
  copyingVerifier,
];

/** The recipe of that name, else VF_UNKNOWN_RECIPE with the nearest name. */
export function recipeByName(name: string): Recipe {
  const recipe = RECIPES.find((one) => one.name === name);
  if (recipe !== undefined) return recipe;
  const names = RECIPES.map((one) => one.name);
  const near = nearest(name, names);
  throw new VfError(
    'VF_UNKNOWN_RECIPE',
    `Expected one of ${names.join(', ')} for recipe but received ${JSON.stringify(name)}`,
    {
      hint: near === undefined ? `take --recipe ${names[0]}` : `did you mean --recipe ${near}?`,
    },
  );
}
